"""Intervals: against published figures, scipy and simulated models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from probing.statistics import intervals
from probing.statistics.intervals import Interval, add_parts, average_interval, difference_interval, wilson_interval
from probing.statistics.resampling import Part, Sample
from tests.statistics.simulation import answers, simulate


def accuracy_interval(right):
    return intervals.accuracy_interval(Sample(right))


@pytest.mark.parametrize(
    ("right", "size", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_newcombe_1998_works_it_out(right, size, low, high):
    """Newcombe (1998), Statistics in Medicine 17, table I, method 3."""
    interval = wilson_interval(right / size, size)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 400).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size))))
def test_one_seed_has_the_interval_of_wilson(counts):
    count, size = counts
    expected = stats.binomtest(count, size).proportion_ci(method="wilson")
    interval = accuracy_interval(np.arange(size)[None] < count)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_intervals_that_touch_overlap():
    assert Interval(0.1, 0.2).overlaps(Interval(0.2, 0.3))
    assert Interval(0.2, 0.3).overlaps(Interval(0.1, 0.2))
    assert not Interval(0.1, 0.2).overlaps(Interval(0.21, 0.3))


def test_the_parts_of_a_variance_are_those_of_a_two_way_table():
    """The formula of Hillis (2007) by its mean squares, from sums written out cell by cell."""
    right = simulate(np.random.default_rng(0), np.linspace(0.3, 0.9, 30), seeds=4, spread=0.2)
    seeds, sentences = right.shape
    mean = sum(right[s, i] for s in range(seeds) for i in range(sentences)) / (seeds * sentences)
    of_seed = [sum(right[s, i] for i in range(sentences)) / sentences for s in range(seeds)]
    of_sentence = [sum(right[s, i] for s in range(seeds)) / seeds for i in range(sentences)]
    ms_seed = sentences * sum((a - mean) ** 2 for a in of_seed) / (seeds - 1)
    ms_sentence = seeds * sum((b - mean) ** 2 for b in of_sentence) / (sentences - 1)
    ms_both = sum(
        (right[s, i] - of_seed[s] - of_sentence[i] + mean) ** 2 for s in range(seeds) for i in range(sentences)
    ) / ((seeds - 1) * (sentences - 1))
    variance = (ms_seed + max(0, ms_sentence - ms_both)) / (seeds * sentences)
    freedom = (ms_seed + ms_sentence - ms_both) ** 2 / (
        ms_seed**2 / (seeds - 1) + (ms_sentence - ms_both) ** 2 / (sentences - 1)
    )
    whole = add_parts([Sample(right).seed_part, Sample(right).sentence_part])
    assert whole.variance == pytest.approx(variance)
    assert whole.freedom == pytest.approx(freedom)
    quantile = stats.t.ppf(0.975, freedom)
    interval = accuracy_interval(right)
    for bound in (interval.low, interval.high):  # Wilson's bounds solve this equation
        assert (bound - mean) ** 2 == pytest.approx(quantile**2 * bound * (1 - bound) * variance / (mean * (1 - mean)))


def test_degrees_of_freedom_are_those_of_welch():
    first, second = [27.5, 21.0, 19.0, 23.6, 17.0], [27.1, 22.0, 20.8, 23.4]
    parts = [Part(float(np.var(sample, ddof=1)) / len(sample), len(sample) - 1) for sample in (first, second)]
    assert add_parts(parts).freedom == pytest.approx(stats.ttest_ind(first, second, equal_var=False).df)
    assert add_parts([]) == Part(0.0, math.inf)


def test_seeds_that_differ_widen_the_interval():
    agreeing = np.tile(np.arange(1000) < 800, (3, 1))
    differing = np.stack([np.arange(1000) < number for number in (780, 800, 820)])
    one = accuracy_interval(agreeing[:1])
    same = accuracy_interval(agreeing)
    assert (same.low, same.high) == pytest.approx((one.low, one.high), abs=1e-4)
    wide = accuracy_interval(differing)
    assert wide.low < one.low - 0.005
    assert wide.high > one.high + 0.005


@pytest.mark.parametrize("text", ["1", "0", "1 1", "1 0", "11 11", "10 01", "00 11", "111 111 110"])
def test_the_smallest_tables_have_intervals(text):
    interval = accuracy_interval(answers(text))
    assert 0 <= interval.low <= answers(text).mean() <= interval.high <= 1
    assert interval.low < interval.high


@pytest.mark.parametrize(("seeds", "spread"), [(1, 0.0), (2, 0.0), (3, 0.02), (5, 0.0), (5, 0.04)])
def test_95_percent_of_the_intervals_hold_the_truth(seeds, spread):
    rng = np.random.default_rng(1)
    repeats, held = 600, 0
    for _ in range(repeats):
        interval = accuracy_interval(simulate(rng, rng.uniform(0.5, 0.9, 500), seeds=seeds, spread=spread))
        held += interval.low <= 0.7 <= interval.high
    assert stats.binomtest(held, repeats, 0.95, alternative="less").pvalue > 0.001
    assert held / repeats < 0.995


def test_the_average_of_shares_with_wide_and_narrow_intervals():
    interval = average_interval([0.5, 0.9], [Interval(0.46, 0.54), Interval(0.87, 0.92)])
    assert (interval.low, interval.high) == pytest.approx((0.7 - 0.05 / 2, 0.7 + math.hypot(0.04, 0.02) / 2))
    assert average_interval([0.5], [Interval(0.4, 0.6)]) == Interval(0.4, 0.6)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((10, 10, 0, 10), 0.6075, 1.0),
    ],
)
def test_the_difference_of_shares_as_newcombe_1998_works_it_out(counts, low, high):
    """Table II, method 10."""
    first, size, second, other = counts
    shares = [first / size, second / other]
    interval = difference_interval(shares, [wilson_interval(shares[0], size), wilson_interval(shares[1], other)])
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
