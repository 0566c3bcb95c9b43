"""The baselines, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from probing.encoders.bag_of_words import BagOfWords, Length, RandomBagOfWords

SENTENCES = [["a", "b", "a"], ["b", "c"]]


def test_bag_of_words_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BagOfWords, "min_count", 2)
    encoder = BagOfWords()
    encoder.prepare(SENTENCES)
    assert encoder.encode([*SENTENCES, ["z"]]).tolist() == [[2, 1], [0, 1], [0, 0]]
    monkeypatch.setattr(BagOfWords, "max_words", 1)
    encoder.prepare(SENTENCES)
    assert encoder.columns == {"a": 0}


def test_words_that_are_all_rare_are_kept() -> None:
    encoder = BagOfWords()
    encoder.prepare(SENTENCES)
    assert encoder.encode(SENTENCES).shape == (2, 3)


def test_random_vectors_depend_on_the_word_alone() -> None:
    first, second = RandomBagOfWords(), RandomBagOfWords()
    words = first.encode([["a"], ["b"]])
    mean = second.encode([["b", "a", "a", "b"]])
    assert words.shape == (2, 300)
    np.testing.assert_allclose(mean[0], words.mean(0), rtol=1e-5, atol=1e-6)
    assert abs(float(np.corrcoef(words)[0, 1])) < 0.3


def test_length() -> None:
    assert Length().encode(SENTENCES).tolist() == [[3], [2]]
