"""Repeated, leaking and contradicting sentences are found by hashes as they would be by comparing all texts."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.places import Places, Repeats
from probing.dataset import SPLITS

Line = tuple[str, str, str]


def collect(lines: list[Line]) -> Places:
    places = Places()
    for number, (split, label, sentence) in enumerate(lines, 1):
        places.add(number, split, label, sentence.split(), reordered=True)
    return places


def test_a_sentence_in_several_places() -> None:
    places = collect(
        [("tr", "A", "x y"), ("tr", "B", "z"), ("te", "B", "x  y"), ("va", "A", "x y"), ("tr", "A", "x y")]
    )
    assert places.duplicates("tr") == Repeats(1, (1, 5))
    assert places.duplicates("va") == places.duplicates("te") == Repeats(0)
    assert places.leaks("tr", "te") == Repeats(1, (1, 3))
    assert places.leaks("va", "te") == Repeats(1, (4, 3))
    assert places.contradictions() == Repeats(1, (1, 3))
    assert places.first_numbers().tolist() in ([1, 2], [2, 1])


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
    places = Places()
    assert places.contradictions() == places.versions() == places.duplicates("tr") == places.leaks("tr", "te")
    assert places.contradictions() == Repeats(0)
    assert len(places.first_numbers()) == 0


LINES = st.lists(
    st.tuples(st.sampled_from(list(SPLITS)), st.sampled_from("AB"), st.text("xy ", min_size=1).filter(str.strip)),
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_counts_are_those_of_a_slow_count(lines: list[Line]) -> None:
    places = collect(lines)
    seen: dict[tuple[str, ...], list[tuple[int, str, str]]] = {}
    for number, (split, label, sentence) in enumerate(lines, 1):
        seen.setdefault(tuple(sentence.split()), []).append((number, split, label))
    for split in SPLITS:
        inside = [[n for n, where, _ in found if where == split] for found in seen.values()]
        assert places.duplicates(split).count == sum(len(numbers) - 1 for numbers in inside if numbers)
    for one, other in combinations(SPLITS, 2):
        assert places.leaks(one, other).count == sum(
            {one, other} <= {s for _, s, _ in found} for found in seen.values()
        )
    assert places.contradictions().count == sum(len({label for *_, label in found}) > 1 for found in seen.values())
    assert sorted(places.first_numbers().tolist()) == [found[0][0] for found in seen.values()]
