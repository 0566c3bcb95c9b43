"""Pearson's correlation of two columns of numbers, with or without weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def pearson(first: ArrayLike, second: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """Return Pearson's r of two columns; None where it is not defined, as for a column of equal numbers.

    weights: how often each pair of numbers occurs; without them, each occurs once. Sums are exact up to the rounding
    of their terms, so r does not depend on the order of the pairs.
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (first, second)]
    counts = np.ones(len(columns[0])) if weights is None else np.asarray(weights, dtype=np.float64)
    if any(len(np.unique(column[counts > 0])) < 2 for column in columns):
        return None
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            total = math.fsum(counts)
            x, y = (column - math.fsum(counts * column) / total for column in columns)
            covariance = math.fsum(counts * x * y)
            spread = math.sqrt(math.fsum(counts * x * x) * math.fsum(counts * y * y))
    except (OverflowError, ValueError):  # the numbers are too large to be added
        return None
    # Of very small or very large numbers, the squares are 0 or infinite.
    return covariance / spread if 0 < spread < math.inf else None
