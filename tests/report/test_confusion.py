from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from probing.report.confusion import count_confusions, order_labels
from probing.report.grouping import group_results
from probing.results import Counts


def make_result(make_record, labels, gold, *predictions):
    """Return a model's result on one task with one record for each list of predictions."""
    records = []
    for seed, answers in enumerate(predictions):
        made = make_record(seed=seed, size=2)
        classes = {label: Counts(train=1, dev=1, test=1, right=0) for label in labels}
        scores = structs.replace(made.scores, classes=classes, gold=gold, predictions=answers)
        records.append(structs.replace(made, outcome=scores))
    return group_results(records)[0].models[0].results["Tense"]


def test_seeds_are_summed(make_record):
    confusion = count_confusions(make_result(make_record, ["A", "B"], [0, 0, 1], [0, 1, 1], [0, 0, 0]))
    assert confusion.names == ["A", "B"]
    assert confusion.counts.tolist() == [[3, 1], [1, 1]]


def test_labels_that_are_numbers_stand_in_their_order(make_record):
    confusion = count_confusions(make_result(make_record, ["10", "5", "9"], [0, 1, 2, 2], [0, 1, 2, 0]))
    assert confusion.names == ["5", "9", "10"]
    assert confusion.counts.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    assert order_labels(["b", "10", "9"]) == [0, 1, 2]


def test_the_most_confused_of_many_labels_are_shown(make_record):
    labels = [f"w{n}" for n in range(6)]
    confusion = count_confusions(
        make_result(make_record, labels, [0, 1, 2, 3, 4, 5, 5], [0, 1, 4, 3, 4, 4, 4]), shown=3
    )
    assert confusion.names == ["w4", "w5", "4 others"]
    assert confusion.counts.tolist() == [[1, 0, 0], [2, 0, 0], [1, 0, 3]]


@given(st.data())
def test_every_answer_is_counted_once(make_record, data):
    number = data.draw(st.integers(1, 12))
    answers = st.lists(st.integers(0, number - 1), min_size=9, max_size=9)
    gold, first, second = data.draw(answers), data.draw(answers), data.draw(answers)
    shown = data.draw(st.integers(2, 12))
    labels = [f"label {n}" for n in range(number)]
    confusion = count_confusions(make_result(make_record, labels, gold, first, second), shown)
    assert confusion.counts.sum() == 18
    assert len(confusion.names) == len(confusion.counts) == min(number, shown)
    pairs = Counter((labels[g], labels[p]) for g, p in zip(gold * 2, first + second, strict=True))
    for (row, right), (column, predicted) in itertools.product(enumerate(confusion.names), repeat=2):
        if right in labels and predicted in labels:
            assert confusion.counts[row, column] == pairs[right, predicted]
