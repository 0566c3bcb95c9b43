"""What is drawn has the distribution that it should have, and comes out the same however it is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from probing.statistics import resampling
from probing.statistics.resampling import Sample
from tests.statistics.simulation import answers


def test_seeds_that_agree_by_luck_leave_the_noise_of_their_answers():
    """Three seeds, equal accuracy, other mistakes: the variance of coin tosses is left, known from all answers."""
    right = answers("1111111000 0001111111 1101101110")
    part = Sample(right).seed_part
    assert right.mean(axis=1).tolist() == pytest.approx([0.7, 0.7, 0.7])
    residuals = right - right.mean(axis=1, keepdims=True) - right.mean(axis=0) + right.mean()
    assert part.variance == pytest.approx(np.square(residuals).sum() / (2 * 9) / 30)
    assert part.freedom == 2 * 9
    deviations = resampling.resample_seeds(Sample(right), (0,))
    assert np.std(deviations) == pytest.approx(math.sqrt(part.variance), rel=0.03)


@pytest.mark.parametrize("freedom", [1.2, 3.0, 4.7, 60.0, 5e5, 1e9])
def test_the_chi_squared_distribution_between_its_nodes(freedom):
    ratios = np.abs(np.random.default_rng(1).normal(0, 0.8, 5_000))
    expected = stats.chi2.cdf(freedom * ratios**2, freedom)
    assert resampling.chi_squared_share(ratios, freedom) == pytest.approx(expected, abs=3e-8)
    assert resampling.chi_squared_share(ratios[:9], freedom) == pytest.approx(expected[:9], abs=1e-12)


@pytest.mark.parametrize("seeds", [2, 5, 200])
def test_seeds_are_drawn_alike_in_blocks_and_at_once(monkeypatch, seeds):
    drawn = resampling._draw_seeds(seeds, 1_300, (3, 1))
    assert drawn.sum(axis=1) == pytest.approx(np.ones(1_300), abs=1e-5)
    monkeypatch.setattr(resampling, "ROWS", 1_300)
    resampling._draw_seeds.cache_clear()
    assert np.array_equal(resampling._draw_seeds(seeds, 1_300, (3, 1)), drawn)
