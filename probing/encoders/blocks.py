"""The order in which the sentences of a task are encoded: each split from short to long, cut into blocks.

Sentences of a batch then need little padding, and batches are those of SentEval, which sorts in the same way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probing.tasks import SPLITS, IndexedTask

BLOCK = 256
"""Number of sentences that are encoded and written at a time, and have one checksum."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Blocks of rows; a row is the number of a sentence in train, dev and test one after the other."""

    counts: Mapping[str, int]
    """Number of sentences of each split."""
    order: Rows
    """All rows, in the order in which they are encoded; no split begins before the one before it has ended."""
    size: int

    @classmethod
    def cut(cls, data: IndexedTask, batch_size: int = 1) -> Blocks:
        """Return the blocks of a task, of whole batches, from short to long sentences as SentEval sorts them."""
        orders, first = [], 0
        for split in SPLITS:
            packed = data.splits[split]
            orders.append(first + np.lexsort((packed.labels, np.diff(packed.offsets))))
            first += len(packed)
        counts = {split: len(data.splits[split]) for split in SPLITS}
        return cls(counts, np.concatenate(orders).astype(np.int64), batch_size * max(1, BLOCK // batch_size))

    def resized(self, size: int) -> Blocks:
        """Return the same rows in blocks of another size."""
        if size < 1:
            raise ValueError(f"blocks of {size} rows")
        return dataclasses.replace(self, size=size)

    @property
    def total(self) -> int:
        """The number of rows."""
        return len(self.order)

    def __iter__(self) -> Iterator[Rows]:
        """Yield the rows of each block; only the last of a split is shorter than the others."""
        first = 0
        for count in self.counts.values():
            for start in range(first, first + count, self.size):
                yield self.order[start : min(start + self.size, first + count)]
            first += count
