"""The outcome of a translation: BLEU with its signature, and the n-gram statistics of each test sentence.

The statistics are what BLEU and its significance are computed from, so a record needs no text. The translations
themselves lie beside the record, with the model.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from probing.results.numbers import Count, Number, Percentage, Whole

STATISTICS = 10
"""Numbers of a sentence: length of the translation and of the reference, matches and totals of 1- to 4-grams."""

MOST = 2**31
"""Largest number in a sentence's statistics; those of a whole record then add up without overflow."""

RIGHT, WRONG, ABSENT = VERDICTS = "10-"
"""Letters for a phenomenon in a sentence: all of it is translated right, some of it wrong, the sentence has none."""

TRANSLATION_POINT = {"epoch", "steps", "loss", "dev_loss"}
"""Fields of each look at dev in the curve of a translation; `dev_bleu` is there if it was measured."""


class TestScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores of the translations of one test set."""

    bleu: Percentage
    """BLEU of detokenised, cased text."""
    signature: str
    """Signature of sacrebleu: how BLEU was computed."""
    bleu_lowercase: Percentage
    """BLEU without regard to case, for comparison with papers that report it so."""
    chrf: Percentage
    chrf_signature: str
    statistics: list[list[Count]]
    """For each sentence the numbers that BLEU adds up: lengths, then matches and totals of 1- to 4-grams."""
    phenomena: dict[str, str] | UnsetType = UNSET
    """Verdicts on each phenomenon of the constructed language, a letter for each sentence; unset for other text."""

    def check(self) -> None:
        """Raise a ValueError if the statistics cannot be those of a test set."""
        if not self.statistics or any(len(row) != STATISTICS for row in self.statistics):
            raise ValueError(f"statistics must have {STATISTICS} numbers for each of one sentence or more")
        numbers = np.asarray(self.statistics, dtype=np.int64)
        if numbers.max() > MOST:
            raise ValueError(f"a sentence has more than {MOST} words")
        if (numbers[:, 2:6] > numbers[:, 6:]).any():
            raise ValueError("more n-grams match than there are")
        for name, letters in (self.phenomena or {}).items():
            if len(letters) != len(self.statistics) or not set(letters) <= set(VERDICTS):
                raise ValueError(f"the verdicts on {name!r} must be one of {', '.join(VERDICTS)} for each sentence")


class PairCounts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of pairs of a parallel corpus."""

    train: Count
    """Number of training pairs that were used."""
    empty: Count
    """Number of training pairs that were dropped because a side is empty."""
    long: Count
    """Number of training pairs that were dropped because a side is too long."""
    dev: Count
    tests: dict[str, Count]
    """Number of pairs of each test set."""
    seen: dict[str, Count]
    """Number of sentences of each test set whose source occurs in training."""


class TranslationScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outcome of a translation run."""

    tests: dict[str, TestScores]
    """Scores of each test set, the one that tables show first."""
    dev_score: Number
    """Score of the chosen weights on dev: BLEU of greedy translations, or the loss."""
    dev_measure: Literal["bleu", "loss"]
    best_epoch: Whole
    """Number of the best look at dev, counted from 1."""
    averaged: Whole
    """Number of looks at dev whose weights were averaged; 1 if the best weights alone were taken."""
    parameters: Whole
    vocabulary_sizes: list[Whole]
    """Number of subwords of the source and of the target."""
    pairs: PairCounts
    curve: list[dict[str, Number]]
    """For each look at dev the epoch, steps, training loss, dev loss and, if it was measured, dev BLEU."""

    @property
    def test(self) -> TestScores:
        """Scores of the test set that tables show."""
        return next(iter(self.tests.values()))

    def check(self) -> None:
        """Raise a ValueError if the scores contradict each other."""
        if not self.tests:
            raise ValueError("there is no test set")
        for scores in self.tests.values():
            scores.check()
        if not all(TRANSLATION_POINT.issubset(point) for point in self.curve):
            raise ValueError("a look at dev lacks its epoch, steps, loss or dev_loss")
