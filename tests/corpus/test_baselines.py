"""Baselines have the expected accuracy on data made for them."""

from __future__ import annotations

import pytest

from probing.corpus import baselines
from probing.corpus.baselines import correlate_with_length, measure_baselines
from probing.corpus.instances import Instance


def lines(*rows: str) -> list[Instance]:
    return [Instance(label, tuple(text.split())) for label, _, text in (row.partition(": ") for row in rows)]


TRAIN = lines("a: x", "a: x", "b: x y", "b: y y", "a: z z z", "b: y x x x")


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (lines("a: q", "b: q"), {"majority": 50.0, "length": 50.0}),
        (lines("a: q", "b: q q", "a: q q q", "b: q q q q"), {"majority": 50.0, "length": 100.0}),
        (lines("b: q q q q q"), {"majority": 0.0, "length": 0.0}),
    ],
)
def test_majority_and_length(test: list[Instance], expected: dict[str, float]) -> None:
    found = measure_baselines({"tr": TRAIN, "va": TRAIN, "te": test}, {})
    assert {name: found[name] for name in expected} == expected
    assert "target_frequency" not in found


def test_a_bag_of_words_sees_words_in_any_case_and_order() -> None:
    train = lines(*["a: good day"] * 5, *["b: bad day"] * 5)
    test = lines("a: day GOOD", "b: day Bad", "b: bad unknown")
    assert measure_baselines({"tr": train, "va": train, "te": test}, {})["bag_of_words"] == 100.0


def test_a_bag_of_words_copes_with_many_labels_and_sentences() -> None:
    train = lines(*(f"w{number:02}: word{number} and more" for number in range(60) for _ in range(100)))
    test = lines(*(f"w{number:02}: word{number}" for number in range(60)))
    assert measure_baselines({"tr": train, "va": train, "te": test}, {})["bag_of_words"] == 100.0


def test_word_order_is_seen_at_any_distance() -> None:
    fillers = ["a b", "c", "d e f", "g h"]
    train = lines(*(f"{label}: {text}" for filler in fillers for label, text in order(filler) for _ in range(9)))
    test = lines(*(f"{label}: {text}" for filler in ("x", "a c") for label, text in order(filler)))
    found = measure_baselines({"tr": train, "va": train, "te": test}, {})
    assert found["word_order"] == 100.0
    assert found["bag_of_words"] == 50.0


def order(filler: str) -> list[tuple[str, str]]:
    return [("I", f"late {filler} early"), ("O", f"early {filler} late")]


def test_neighbours_are_told_from_words_that_are_far_apart() -> None:
    rows = [("a", "not good and it bad z"), ("b", "not bad it and good z")]
    train = lines(*(f"{label}: {text}" for label, text in rows for _ in range(20)))
    assert (
        measure_baselines({"tr": train, "va": train, "te": lines("a: not good", "b: not bad")}, {})["word_order"] == 100
    )


def test_word_order_is_learned_from_some_sentences_of_a_large_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "MAX_SENTENCES", (50, 20))
    train = lines(*(f"{label}: {text}" for _ in range(500) for label, text in order("x")))
    seen: list[int] = []
    find = baselines._find_pairs
    monkeypatch.setattr(baselines, "_find_pairs", lambda part, columns: seen.append(len(part)) or find(part, columns))
    baselines.score_word_order(train, train[:300])
    assert seen == [50, 50]


def test_a_task_of_very_many_labels_has_no_baseline_of_word_order() -> None:
    train = lines(*(f"w{number}: word{number} x" for number in range(60)))
    assert "word_order" not in measure_baselines({"tr": train, "va": train, "te": train}, {})


def test_frequency_of_the_target_alone() -> None:
    frequencies = {"often": 1000, "common": 900, "seldom": 11, "rare": 10}
    train = [Instance("a", ("x",), "often"), Instance("b", ("x",), "seldom")] * 5
    test = [Instance("a", ("x",), "Common"), Instance("b", ("x",), "rare")]
    assert measure_baselines({"tr": train, "va": train, "te": test}, frequencies)["target_frequency"] == 100.0


def test_correlation_with_length() -> None:
    assert correlate_with_length(lines("5: a", "6: a b", "7: a b c")) == 1.0
    assert correlate_with_length(lines("7: a", "6: a b", "5: a b c")) == -1.0
    assert correlate_with_length(lines("I: a a", "O: a a", "I: a", "O: a")) == 0.0
    assert correlate_with_length(lines("I: a a", "O: a", "I: a a", "O: a")) == -1.0
    assert correlate_with_length(lines("x: a", "y: a b", "z: a b c")) is None
    assert correlate_with_length(lines("I: a", "O: b")) is None
