"""Pearson's r, by hand, against numpy, and where it is not defined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.statistics.correlation import pearson


def test_by_hand() -> None:
    assert pearson([1, 2, 3], [5, 7, 9]) == pytest.approx(1)
    assert pearson([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # Columns 1 1 2 2 and 1 2 2 2: covariance 1/8, variances 1/4 and 3/16.
    assert pearson([1, 1, 2, 2], [1, 2, 2, 2]) == pytest.approx(0.125 / (0.25 * 0.1875) ** 0.5)
    assert pearson([1, 1, 2], [1, 2, 2], weights=[1, 1, 2]) == pytest.approx(0.125 / (0.25 * 0.1875) ** 0.5)


PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5)), min_size=2, max_size=30)


@settings(deadline=None)
@given(PAIRS)
def test_a_weight_is_a_number_of_repetitions_in_any_order(pairs: list[tuple[int, int, int]]) -> None:
    first, second, weights = (list(column) for column in zip(*pairs, strict=True))
    repeated = [(one, other) for one, other, weight in pairs for _ in range(weight)]
    expected = pearson([one for one, _ in repeated], [other for _, other in repeated])
    found = pearson(first, second, weights)
    if expected is None:
        assert found is None
        return
    assert found == pytest.approx(expected, abs=1e-12)
    assert pearson(first[::-1], second[::-1], weights[::-1]) == found
    assert found == pytest.approx(np.corrcoef(np.array(repeated).T)[0, 1], abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "weights"),
    [
        ([], [], None),
        ([1], [2], None),
        ([3, 3, 3], [1, 2, 3], None),
        ([1, 2, 3], [3, 3, 3], None),
        ([0.1, 0.1, 0.1], [1, 2, 3], None),
        ([1e-200, 2e-200], [1, 2], None),
        ([1, 2, 3], [1, 2, 3], [0, 0, 0]),
        ([1, 2, 3], [1, 2, 3], [0, 5, 0]),
        ([1e308, 1e308, -1e308], [1, 2, 3], None),
        ([1e308, -1e308, 0], [1, 2, 3], None),
        ([1.0, float("inf")], [1, 2], None),
        ([1.0, float("nan")], [1, 2], None),
    ],
)
def test_where_it_is_not_defined(first: list[float], second: list[float], weights: list[float] | None) -> None:
    assert pearson(first, second, weights) is None
