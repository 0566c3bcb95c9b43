"""Splits and batches as packed numbers: the tokens of all sentences lie end to end, with no padding between them.

Shapes: T tokens of a batch, B sentences of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = 0
"""The id of every word that the vocabulary does not hold."""

Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Packed:
    """Sentences laid end to end.

    tokens, rows, positions: (T,), a token's id, its sentence within the batch, its place in the sentence;
    lengths: (B,).
    """

    tokens: Integers
    rows: Integers
    positions: Integers
    lengths: Integers


def pack(tokens: NDArray[Any], offsets: Integers, sentences: Integers) -> Packed:
    """Return some sentences end to end, of which sentence i is tokens[offsets[i]:offsets[i + 1]]."""
    starts = offsets[sentences]
    lengths = offsets[sentences + 1] - starts
    first_slots = np.cumsum(lengths) - lengths
    positions = np.arange(lengths.sum()) - np.repeat(first_slots, lengths)
    return Packed(
        tokens=tokens[np.repeat(starts, lengths) + positions].astype(np.int64, copy=False),
        rows=np.repeat(np.arange(len(sentences)), lengths),
        positions=positions,
        lengths=lengths,
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences laid end to end, with their labels (B,)."""

    tokens: Integers
    rows: Integers
    positions: Integers
    lengths: Integers
    labels: Integers


@dataclass(frozen=True, slots=True)
class PackedSplit:
    """A split as numbers: tokens end to end, sentence i at tokens[offsets[i]:offsets[i + 1]]."""

    tokens: Integers | SmallIntegers
    offsets: Integers
    labels: Integers
    vocabulary_size: int | None = None
    """Words from this number on are the unknown one; without it, all are known."""

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, sentences: Integers) -> Batch:
        """Return the named sentences as one packed batch."""
        packed = pack(self.tokens, self.offsets, sentences)
        tokens = packed.tokens
        if self.vocabulary_size is not None:
            tokens[tokens >= self.vocabulary_size] = UNKNOWN
        return Batch(
            tokens=tokens,
            rows=packed.rows,
            positions=packed.positions,
            lengths=packed.lengths,
            labels=self.labels[sentences],
        )

    def batches(self, batch_size: int, order: Integers | None = None) -> Iterator[Batch]:
        """Yield batches of `batch_size` sentences, in the file's order or in the order given."""
        sentences = np.arange(len(self)) if order is None else order
        for start in range(0, len(sentences), batch_size):
            yield self.batch(sentences[start : start + batch_size])
