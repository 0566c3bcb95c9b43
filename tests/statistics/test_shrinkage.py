"""Ratios of variances, drawn towards those of the other cells of a table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from probing.statistics import shrinkage
from probing.statistics.shrinkage import ALONE, FREEDOMS, SCALES, SeedPrior, compute_log_likelihoods, fit_prior


@pytest.mark.parametrize("freedoms", [(2.0, 2.0, 2.0, 2.0), (1.0, 2.0, 4.0, 9.0)])
def test_the_likelihood_is_that_of_scaled_f_with_outliers(freedoms):
    ratios = (0.01, 0.7, 3.0, 90.0)
    found = compute_log_likelihoods(ratios, freedoms)
    assert found.shape == (len(SCALES), len(FREEDOMS))
    for row, column in ((0, 0), (5, 3), (12, 9), (30, 11)):
        scale, freedom = SCALES[row], FREEDOMS[column]
        expected = 0.0
        for ratio, own in zip(ratios, freedoms, strict=True):
            usual = stats.f.pdf(ratio / scale, own, freedom) / scale
            wide = 20 * scale
            unusual = stats.f.pdf(ratio / wide, own, 1.0) / wide
            expected += np.log(0.95 * usual + 0.05 * unusual)
        assert found[row, column] == pytest.approx(expected)


def test_f0_is_the_cautious_quantile_and_the_scale_the_likeliest_with_it():
    ratios = np.random.default_rng(1).chisquare(2, 30)
    likely = np.exp(compute_log_likelihoods(ratios, np.full(30, 2.0)))
    by_freedom = likely.sum(axis=0) / likely.sum()
    place = next(n for n in range(len(FREEDOMS)) if by_freedom[: n + 1].sum() >= 0.3)
    assert fit_prior(ratios, np.full(30, 2.0)) == SeedPrior(SCALES[likely[:, place].argmax()], FREEDOMS[place])


def test_shrinking_is_smyths_posterior_mean_of_the_precision():
    prior = SeedPrior(scale=2.0, freedom=8.0)
    assert prior.shrink(5.0, 2.0) == (pytest.approx((8 * 2 + 2 * 5) / 10), 10.0)
    assert prior.shrink(0.0, 2.0) == (pytest.approx(1.6), 10.0)
    assert SeedPrior(1.0, 8.0).shrink(0.0, 2.0) == (1.0, 10.0)
    assert ALONE.shrink(5.0, 2.0) == (5.0, 2.0)
    assert ALONE.shrink(0.3, 2.0) == (1.0, 2.0)


def test_an_outlier_is_drawn_to_outliers():
    prior = SeedPrior(scale=2.0, freedom=12.0)
    assert not prior.is_outlier(0.0, 2.0)
    assert not prior.is_outlier(6.0, 2.0)
    assert prior.is_outlier(100.0, 2.0)
    weight = shrinkage.OUTLIER_WEIGHT
    expected = (weight * shrinkage.OUTLIER_SCALE * 2 + 2 * 100) / (weight + 2)
    assert prior.shrink(100.0, 2.0) == (pytest.approx(expected), weight + 2)


def test_alike_cells_count_for_much_and_different_ones_for_little():
    random = np.random.default_rng(2)
    chi = random.chisquare(2, 200) / 2
    alike = fit_prior(2.0 * chi, np.full(200, 2.0))
    assert alike.scale == pytest.approx(2.0, rel=0.3)
    assert alike.freedom >= 12
    different = fit_prior(2.0 * 3 / random.chisquare(3, 200) * chi, np.full(200, 2.0))
    assert 1.5 <= different.freedom <= 6


def test_failed_trainings_hardly_change_what_the_others_tell():
    chi = 2.0 * np.random.default_rng(3).chisquare(2, 77) / 2
    without = fit_prior(chi, np.full(77, 2.0))
    with_failures = fit_prior([*chi, 300.0, 500.0, 900.0], np.full(80, 2.0))
    assert with_failures.scale == pytest.approx(without.scale, rel=0.3)
    assert with_failures.freedom >= 6


def test_few_cells_tell_little():
    assert fit_prior([], []).freedom <= 2
    assert fit_prior([1.0, 2.0], [2.0, 2.0]).freedom <= 4
