"""Cached vectors against an encoder that is the same, has changed, looks at its batch or is random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from probing.encoders.blocks import Blocks
from probing.encoders.vector_check import Agreement, check_rows, choose_rows, find_differing, find_tolerance

BLOCKS = Blocks({"tr": 40, "va": 10, "te": 10}, np.arange(60), 20)
CALLS: list[int] = []


def same(rows: Any) -> Any:
    return np.stack([rows + 1.0, rows * 2.0], 1)[:, None].astype(np.float32)


def of_batch(rows: Any) -> Any:
    return same(rows) + rows.sum()


def random(rows: Any) -> Any:
    CALLS.append(1)
    return same(rows) * len(CALLS)


@pytest.mark.parametrize(
    ("before", "now", "finding"),
    [
        (same, same, Agreement.SAME),
        (same, lambda rows: same(rows) * (1 + 1e-6), Agreement.SAME),
        (same, lambda rows: same(rows) * 1.01, Agreement.OTHER),
        (same, lambda rows: np.concatenate([same(rows)] * 2, 2), Agreement.OTHER),
        (of_batch, of_batch, Agreement.BATCH),
        (random, random, Agreement.NEVER_SAME),
    ],
)
def test_findings(before: Callable[[Any], Any], now: Callable[[Any], Any], finding: Agreement) -> None:
    vectors = np.concatenate([before(rows) for rows in BLOCKS])
    rows = choose_rows(BLOCKS.order)
    assert check_rows(rows, vectors[rows], now, BLOCKS, 1e-4) is finding


def test_rows_are_spread_over_all() -> None:
    rows = choose_rows(np.arange(1000))
    assert (len(rows), rows[0], rows[-1]) == (16, 0, 999)
    assert choose_rows(np.arange(3)).tolist() == [0, 1, 2]


def test_the_tolerance_is_that_of_the_coarser_type() -> None:
    assert find_tolerance({"dtype": "float32", "settings": {}}) == 1e-4
    assert find_tolerance({"dtype": "float16", "settings": {"model_dtype": "bfloat16"}}) == 3e-2


def test_vectors_of_zeros_are_alike() -> None:
    zeros = np.zeros((2, 1, 3), np.float32)
    assert find_differing(zeros, zeros, 1e-4).tolist() == []
    assert find_differing(zeros, zeros + 1, 1e-4).tolist() == [0, 1]
