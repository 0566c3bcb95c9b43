"""Cached vectors against their encoder: some sentences are encoded again, and compared.

The vector of a sentence may differ a little with the other sentences of its batch, by rounding. What differs more is
of an encoder that has changed, of one that looks at the whole batch, or of one that never gives the same vector twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.encoders.blocks import Blocks, Rows

SENTENCES = 16
"""Number of sentences that are encoded again."""
TOLERANCES = {"float32": 1e-4, "float16": 5e-3, "bfloat16": 3e-2}
"""Largest difference of two vectors that rounding explains, as a share of their length, by type of number."""

Matrix = NDArray[Any]
"""Vectors (n, layers, dim)."""


class Agreement(Enum):
    """How an encoder's vectors compare with those that it gave before."""

    SAME = "the same vectors"
    OTHER = "other vectors than before"
    BATCH = "vectors that depend on the other sentences of the batch"
    NEVER_SAME = "other vectors each time"


def choose_rows(rows: Rows) -> Rows:
    """Return some rows, spread over all that are given."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(SENTENCES, len(rows))).round().astype(np.int64))]


def find_tolerance(about: Mapping[str, Any]) -> float:
    """Return the largest difference that rounding explains, by the types of an entry's numbers and of its model's."""
    return max(TOLERANCES[str(name)] for name in (about["dtype"], about["settings"].get("model_dtype", "float32")))


def check_rows(rows: Rows, before: Matrix, encode: Callable[[Rows], Matrix], blocks: Blocks, tol: float) -> Agreement:
    """Compare vectors of some rows with those that the encoder gives now.

    If they differ, they are encoded once more, and one of them with the whole block in which it was encoded before.
    """
    now = encode(rows)
    wrong = find_differing(before, now, tol)
    if not len(wrong):
        return Agreement.SAME
    if len(find_differing(now, encode(rows), tol)):
        return Agreement.NEVER_SAME
    row = rows[wrong[0]]
    block = next(block for block in blocks if row in block)
    again = encode(block)[block == row]
    return Agreement.OTHER if len(find_differing(before[wrong[:1]], again, tol)) else Agreement.BATCH


def find_differing(first: Matrix, second: Matrix, tolerance: float) -> NDArray[np.int64]:
    """Return the places of the vectors that differ by more than rounding explains."""
    if first.shape != second.shape:
        return np.arange(len(first))
    pairs = zip(first, second, strict=True)
    return np.array([n for n, pair in enumerate(pairs) if any(map(partial(_differ, tolerance), *pair))], np.int64)


def _differ(tolerance: float, first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether two vectors (dim,) differ; they may be large, so no more than their difference is made."""
    largest = max(float(np.abs(first).max()), float(np.abs(second).max()))
    if not largest:
        return False
    difference = (first.astype(np.float32, copy=False) - second) / np.float32(largest)
    share = float(np.linalg.norm(first / first.dtype.type(largest))), float(np.linalg.norm(difference))
    return share[1] > tolerance * max(share[0], 1e-3)
