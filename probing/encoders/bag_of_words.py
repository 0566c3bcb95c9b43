"""Baselines that know no word order, and the shortest examples of an encoder."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


class BagOfWords:
    """Counts of the words that a task's sentences hold at least `min_count` times, the most frequent ones."""

    max_words = 3000
    min_count = 5

    def prepare(self, sentences: list[list[str]]) -> None:
        counts = Counter(word for tokens in sentences for word in tokens)
        words = [word for word, count in counts.items() if count >= self.min_count] or list(counts)
        frequent = sorted(words, key=lambda word: (-counts[word], word))[: self.max_words]
        self.columns = {word: column for column, word in enumerate(frequent)}

    def encode(self, sentences: list[list[str]]) -> Matrix:
        vectors = np.zeros((len(sentences), len(self.columns)), np.float32)
        for row, tokens in enumerate(sentences):
            for word in tokens:
                if word in self.columns:
                    vectors[row, self.columns[word]] += 1
        return vectors


class RandomBagOfWords:
    """The mean of random word vectors that depend on nothing but the word: what no learning at all gives."""

    dim = 300

    def __init__(self) -> None:
        self.words: dict[str, Matrix] = {}

    def encode(self, sentences: list[list[str]]) -> Matrix:
        return np.stack([np.mean([self._vector(word) for word in tokens], 0) for tokens in sentences])

    def _vector(self, word: str) -> Matrix:
        if word not in self.words:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            self.words[word] = np.random.default_rng(seed).standard_normal(self.dim, np.float32)
        return self.words[word]


class Length:
    """The number of tokens, and nothing else."""

    def encode(self, sentences: list[list[str]]) -> Matrix:
        return np.array([[len(tokens)] for tokens in sentences], np.float32)
