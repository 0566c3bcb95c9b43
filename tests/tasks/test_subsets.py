from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.tasks.index import load_task
from probing.tasks.subsets import KNOWN, Subset, find_content_words, label_words, randomise_labels, take_splits
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


def word_lines(seed, train=400, other=60):
    """Return a task of random sentences: some words are common, some rare, and some are unseen in training."""
    random = np.random.default_rng(seed)
    for split, size, words in (("tr", train, 200), ("va", other, 230), ("te", other, 230)):
        for _ in range(size):
            drawn = (random.pareto(0.7, random.integers(1, 9)) * 3).astype(int) % words
            yield f"{split}\t{LABELS[random.choice(3, p=(0.2, 0.3, 0.5))]}\t{' '.join(f'w{word}' for word in drawn)}"


def find_content_word(tokens, counts):
    """Return the content word of a sentence, as the documents say it."""
    known = [word for word in tokens if counts[word] >= KNOWN]
    if known:
        return max(known, key=lambda word: (-counts[word], word))
    return min(tokens, key=lambda word: (-counts[word], word))


@pytest.mark.parametrize("seed", range(5))
def test_a_sentence_has_the_label_of_its_rarest_known_word(task_file, seed):
    task = load_task(task_file(word_lines(seed)))
    parts = label_words(task)
    counts = Counter(word for sentence in sentences(take_splits(task)["tr"], task) for word in sentence.split())
    label_of = {}
    for name in SPLITS:
        texts = sentences(parts[name], task)
        assert texts == sentences(take_splits(task)[name], task)  # the task's own sentences
        found = [task.words[number - 1] for number in find_content_words(task, name).tolist()]
        assert found == [find_content_word(text.split(), counts) for text in texts]
        for word, label in zip(found, parts[name].labels.tolist(), strict=True):
            assert label_of.setdefault(word, label) == label
    assert len(set(label_of.values())) == 3


def test_word_labels_of_test_sentences_can_be_known_from_training(task_file):
    """That is what this control is for: nearly every word that gives a test sentence its label has done so before."""
    task = load_task(task_file(word_lines(0, train=4000)))
    seen = set(find_content_words(task, "tr").tolist())
    assert np.mean([number in seen for number in find_content_words(task, "te").tolist()]) > 0.95


def test_word_labels_come_from_the_training_distribution(task_file):
    lines = [f"tr\t{LABELS[min(number % 6, 2)]}\t{' '.join([f'w{number}'] * KNOWN)}" for number in range(6000)]
    task = load_task(task_file([*lines, "va\tA\tw1", "te\tA\tw2"]))
    counts = Counter(label_words(task)["tr"].labels.tolist())
    assert [counts[number] / 6000 for number in range(3)] == pytest.approx([1 / 6, 1 / 6, 4 / 6], abs=0.02)


def test_word_labels_are_the_same_in_every_process(task_file):
    task = load_task(
        task_file([*lines(12), *(f"tr\tA\t{word}" for word in ("red", "green", "blue") for _ in range(9))])
    )
    assert label_words(task)["tr"].labels.tolist()[12::9] == [0, 0, 2]
