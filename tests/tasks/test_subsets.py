from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.tasks.index import load_task
from probing.tasks.subsets import Subset, randomise_labels, take_splits
from probing.tasks.task_file import SPLITS

LABELS = ("A", "B", "C")


def lines(train, dev=4, test=5, *, shares=(1, 1, 1)):
    """Return a task whose training labels are in the given proportions, sorted; no two sentences are alike."""
    labels = [label for label, share in zip(LABELS, shares, strict=True) for _ in range(share * train // sum(shares))]
    yield from (f"tr\t{label}\tsentence {number} ." for number, label in enumerate(labels))
    yield from (f"va\tA\tdev {number}" for number in range(dev))
    yield from (f"te\tB\ttest {number} ." for number in range(test))


def sentences(part, task):
    split = part.pack(task.splits[part.split])
    return [
        " ".join(task.words[token - 1] for token in split.tokens[start:stop].tolist())
        for start, stop in zip(split.offsets[:-1], split.offsets[1:], strict=True)
    ]


def test_the_splits_are_the_files_own(task_file):
    task = load_task(task_file(lines(30)))
    parts = take_splits(task)
    for name in SPLITS:
        assert parts[name].rows is None
        assert len(parts[name]) == len(task.splits[name])
        assert parts[name].pack(task.splits[name]).labels.tolist() == task.splits[name].labels.tolist()
    assert sentences(parts["va"], task) == ["dev 0", "dev 1", "dev 2", "dev 3"]


@given(st.lists(st.integers(0, 29), min_size=1, max_size=40), st.integers(2, 60))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_part_has_its_own_sentences_and_labels(task_file, rows, vocabulary_size):
    task = load_task(task_file(lines(30)))
    whole = task.limit("tr", vocabulary_size)
    part = Subset("tr", np.arange(30) % 3).take(np.array(rows))
    packed = part.pack(whole)
    assert packed.labels.tolist() == [row % 3 for row in rows]
    everything = np.arange(len(rows))
    expected, batch = whole.batch(np.array(rows)), packed.batch(everything)
    assert batch.tokens.tolist() == expected.tokens.tolist()
    assert batch.lengths.tolist() == expected.lengths.tolist()
    again = part.take(everything[::-1])
    assert again.rows is not None
    assert again.rows.tolist() == rows[::-1]


def test_a_sentence_has_the_same_random_label_everywhere(task_file):
    """In other files, at other places, with other neighbours, as long as the label distribution is the same."""
    first = load_task(task_file(lines(300), "one.txt"))
    second = load_task(task_file([*reversed(list(lines(300))), *lines(300)], "two.txt"))
    drawn = [
        {
            (sentence, label)
            for part in randomise_labels(task).values()
            for sentence, label in zip(sentences(part, task), part.labels.tolist(), strict=True)
        }
        for task in (first, second)
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == len({sentence for sentence, _ in drawn[0]}) == 300


def test_random_labels_come_from_the_training_distribution_and_know_nothing_of_the_own_ones(task_file):
    task = load_task(task_file(lines(6000, shares=(1, 2, 3))))
    own, drawn = task.splits["tr"].labels, randomise_labels(task)["tr"].labels
    counts = Counter(drawn.tolist())
    assert [counts[number] / 6000 for number in range(3)] == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.02)
    agreement = np.mean(own == drawn)
    assert agreement == pytest.approx((1 + 4 + 9) / 36, abs=0.03)  # what two independent draws agree on


def test_dev_and_test_of_the_control_are_other_training_sentences_each(task_file):
    task = load_task(task_file(lines(30, dev=7, test=11)))
    parts = randomise_labels(task)
    dev, test = parts["va"], parts["te"]
    assert (len(parts["tr"]), len(dev), len(test)) == (30, 7, 11)
    assert dev.split == test.split == "tr"
    assert dev.rows is not None
    assert test.rows is not None
    assert not {*dev.rows.tolist()} & {*test.rows.tolist()}
    assert test.labels.tolist() == parts["tr"].labels[test.rows].tolist()
    assert test.rows.tolist() != sorted(test.rows.tolist())


@pytest.mark.parametrize(("dev", "test"), [(30, 30), (20, 20), (1, 99), (99, 1)])
def test_few_training_sentences_serve_twice(task_file, dev, test):
    parts = randomise_labels(load_task(task_file(lines(30, dev=dev, test=test))))
    assert (len(parts["va"]), len(parts["te"])) == (min(dev, 30), min(test, 30))
    for name in ("va", "te"):
        rows = parts[name].rows
        assert rows is not None
        assert len({*rows.tolist()}) == len(rows)


def test_the_control_is_the_same_in_every_process(task_file):
    """The labels are drawn by a hash, so they can be written down."""
    task = load_task(task_file(lines(12)))
    parts = randomise_labels(task)
    assert parts["tr"].labels.tolist() == [2, 2, 0, 1, 1, 1, 2, 1, 2, 0, 2, 2]
