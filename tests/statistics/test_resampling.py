"""What is drawn has the distribution that it should have, and comes out the same however it is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from probing.statistics.resampling import Sample, draw_variances, learn_seeds
from probing.statistics.shrinkage import ALONE, SeedPrior, fit_prior
from tests.statistics.simulation import answers


def test_seeds_that_agree_by_luck_leave_the_noise_of_their_answers():
    """Three seeds, equal accuracy, other mistakes: the variance of coin tosses is left, known from all answers."""
    right = answers("1111111000 0001111111 1101101110")
    part = Sample(right).seed_part
    assert right.mean(axis=1).tolist() == pytest.approx([0.7, 0.7, 0.7])
    residuals = right - right.mean(axis=1, keepdims=True) - right.mean(axis=0) + right.mean()
    assert part.variance == pytest.approx(np.square(residuals).sum() / (2 * 9) / 30)
    assert part.freedom == 2 * 9
    alone = Sample(right).shrink_seed_part(ALONE)
    assert alone.variance == pytest.approx(part.variance)
    assert alone.freedom == 2


def test_seeds_that_give_the_same_answers_have_no_part():
    sample = Sample(answers("1100 1100 1100"))
    assert sample.seed_ratio is None
    assert sample.shrink_seed_part(SeedPrior(2.0, 8.0)) is None
    assert Sample(answers("1100")).seed_ratio is None
    assert learn_seeds([sample]) == fit_prior([], [])


@pytest.mark.parametrize("freedom", [2.0, 7.5, 34.0])
def test_a_variance_is_drawn_from_the_inverse_chi_squared_distribution(freedom):
    drawn = draw_variances(freedom, (3, 1))
    assert stats.kstest(drawn, lambda x: stats.chi2.sf(freedom / x, freedom)).statistic < 0.001
    assert not np.array_equal(drawn, draw_variances(freedom, (3, 2)))
