"""Pairs of sentences as packed numbers, in batches of a number of tokens.

Shapes: S source tokens of a batch, T target tokens of a batch, B pairs of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.tasks import Integers, Packed, pack
from probing.translation.subwords import BEGIN

WINDOW = 1 << 16
"""Number of pairs whose lengths are looked up at a time."""


@dataclass(frozen=True, slots=True)
class PackedTarget:
    """Target sentences laid end to end, as a decoder reads and as it should continue them.

    tokens_in, tokens_out, rows, positions: (T,), BEGIN and then the subwords, the subwords and then END, a token's
    pair within the batch, its place in the sentence; lengths: (B,).
    """

    tokens_in: Integers
    tokens_out: Integers
    rows: Integers
    positions: Integers
    lengths: Integers


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Pairs of sentences; each source sentence (S,) ends with END."""

    source: Packed
    target: PackedTarget

    def __len__(self) -> int:
        return len(self.source.lengths)


@dataclass(frozen=True, slots=True)
class ParallelSplit:
    """A split as numbers: pair i is source_tokens[source_offsets[i]:source_offsets[i + 1]], and so the target.

    Each sentence ends with END. The arrays may be mapped from files.
    """

    source_tokens: NDArray[Any]
    source_offsets: Integers
    target_tokens: NDArray[Any]
    target_offsets: Integers

    def __len__(self) -> int:
        return len(self.source_offsets) - 1

    def count_tokens(self, rows: Integers) -> Integers:
        """Return the number of tokens of the longer side of some pairs, END included."""
        source = self.source_offsets[rows + 1] - self.source_offsets[rows]
        target = self.target_offsets[rows + 1] - self.target_offsets[rows]
        longer: Integers = np.maximum(source, target)
        return longer

    def batch(self, rows: Integers) -> PairBatch:
        """Return the named pairs as one batch."""
        target = pack(self.target_tokens, self.target_offsets, rows)
        tokens_in = np.roll(target.tokens, 1)
        tokens_in[target.positions == 0] = BEGIN
        return PairBatch(
            source=pack(self.source_tokens, self.source_offsets, rows),
            target=PackedTarget(
                tokens_in=tokens_in,
                tokens_out=target.tokens,
                rows=target.rows,
                positions=target.positions,
                lengths=target.lengths,
            ),
        )

    def batches(self, order: Integers, max_tokens: int) -> Iterator[PairBatch]:
        """Yield pairs in the given order, as many at a time as have `max_tokens` on their longer sides."""
        return map(self.batch, self.groups(order, max_tokens))

    def groups(self, order: Integers, max_tokens: int) -> Iterator[Integers]:
        """Yield the numbers of pairs in the given order, as many at a time as have `max_tokens` on their longer sides.

        A longer pair is a group alone. What follows the first k groups depends only on the order after their pairs.
        """
        start, size = 0, max(WINDOW, max_tokens + 1)  # a pair has a token at least, so no group fills a window
        while start < len(order):
            window = order[start : start + size]
            ends = np.cumsum(self.count_tokens(window))
            is_last, first = start + len(window) == len(order), 0
            while first < len(window):
                before = ends[first - 1] if first else 0
                end = max(first + 1, int(np.searchsorted(ends, before + max_tokens, "right")))
                if end == len(window) and not is_last:
                    break  # the next window may have more of this group
                yield window[first:end]
                first = end
            start += first
