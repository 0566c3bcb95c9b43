"""The number of training sentences is a setting: nested subsets, with the words of their own sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from probing.errors import ProbingError
from probing.tasks import draw_sentences, load_task, randomise_labels, take_splits


@pytest.fixture
def path(task_file: Callable[..., Path]) -> Path:
    lines = [f"{split}\t{'AB'[n % 2]}\tw{n} x{n % 7} c" for split in ("tr", "va", "te") for n in range(60)]
    return task_file(lines, "task.txt")


def test_subsets_are_nested_and_leave_dev_and_test_alone(path: Path) -> None:
    task = load_task(path)
    small, large = draw_sentences(task, 10), draw_sentences(task, 25)
    assert small is not None
    assert large is not None
    assert set(small) < set(large)
    subsets = take_splits(task, small)
    assert [len(subsets[name]) for name in ("tr", "va", "te")] == [10, 60, 60]
    assert draw_sentences(task, 0) is None
    assert draw_sentences(task, 60) is None
    with pytest.raises(ProbingError, match="at most the 60 training sentences of task.txt, or 0 for all. Got 61"):
        draw_sentences(task, 61)


def test_the_control_asks_only_for_sentences_of_the_subset(path: Path) -> None:
    task = load_task(path)
    rows = draw_sentences(task, 10)
    assert rows is not None
    subsets = randomise_labels(task, rows)
    for name in ("tr", "va", "te"):
        assert subsets[name].rows is not None
        assert set(subsets[name].rows) <= set(rows)


def test_the_words_are_those_of_the_subset_and_no_sentence_changes(path: Path) -> None:
    task = load_task(path)
    rows = draw_sentences(task, 10)
    assert rows is not None
    restricted = task.restrict(rows)
    for split in ("tr", "va", "te"):
        assert list(restricted.sentences(split, range(60))) == list(task.sentences(split, range(60)))
    known = restricted.vocabulary_size(min_frequency=1, max_vocabulary=1_000) - 1
    sentences = list(task.sentences("tr", range(60)))
    assert set(restricted.words[:known]) == {word for row in rows for word in sentences[row]}
    assert np.all(np.diff(restricted.frequencies) <= 0)
