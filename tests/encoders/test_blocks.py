"""Blocks hold every sentence once, each split from short to long, in whole batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from probing.encoders.blocks import BLOCK, Blocks
from probing.tasks import IndexedTask, load_task


@pytest.fixture
def data(task_file: Callable[..., Path]) -> IndexedTask:
    sizes = {"tr": 300, "va": 7, "te": 9}
    lines = [
        f"{split}\t{'AB'[number % 2]}\t{' '.join('w' * (1 + number * 5 % 11))}"
        for split, size in sizes.items()
        for number in range(size)
    ]
    return load_task(task_file(lines))


def find_lengths(data: IndexedTask) -> np.ndarray:
    return np.concatenate([np.diff(split.offsets) for split in data.splits.values()])


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_each_row_comes_once_and_no_block_crosses_a_split(data: IndexedTask, batch_size: int) -> None:
    blocks = Blocks.cut(data, batch_size)
    assert blocks.size % batch_size == 0
    assert blocks.size <= max(BLOCK, batch_size)
    rows = list(blocks)
    assert sorted(np.concatenate(rows)) == list(range(blocks.total)) == list(range(316))
    bounds = [(0, 300), (300, 307), (307, 316)]
    for block in rows:
        assert any(low <= block.min() and block.max() < high for low, high in bounds)
        assert len(block) <= blocks.size


def test_a_split_goes_from_short_to_long_over_its_whole_length(data: IndexedTask) -> None:
    lengths = find_lengths(data)
    ordered = lengths[Blocks.cut(data).order]
    for low, high in ((0, 300), (300, 307), (307, 316)):
        assert list(ordered[low:high]) == sorted(lengths[low:high])


def test_another_size_keeps_the_order(data: IndexedTask) -> None:
    blocks = Blocks.cut(data)
    assert np.array_equal(np.concatenate(list(blocks.resized(10))), blocks.order)
    with pytest.raises(ValueError, match="blocks of 0 rows"):
        blocks.resized(0)
