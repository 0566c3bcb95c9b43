"""The bins of SeLen follow each other without a gap."""

from __future__ import annotations

from itertools import pairwise

from probing.corpus.lengths import LENGTH_BINS, MAX_LENGTH, MIN_LENGTH


def test_the_bins_cover_all_lengths_once() -> None:
    assert list(LENGTH_BINS) == ["0", "1", "2", "3", "4", "5"]
    assert all(low <= high for low, high in LENGTH_BINS.values())
    assert all(following[0] == bounds[1] + 1 for bounds, following in pairwise(LENGTH_BINS.values()))
    assert (MIN_LENGTH, MAX_LENGTH) == (5, 28)
