"""The spread of seeds, learnt from all cells of a table: empirical Bayes for ratios of variances.

A cell's ratio is MSR/MSE of its table of seeds x sentences: how much more the seeds' accuracies vary than the noise of
single answers explains. S seeds tell it with S - 1 degrees of freedom, which is little, but cells of one table are much
alike. So each ratio is drawn towards a common one, as Smyth (2004) does it with the variances of genes: if the true
ratio of a cell is scale * f0 / chi2_f0, then ratio / scale has the distribution F(S - 1, f0), and what is known of the
true one is (f0 * scale + (S - 1) * ratio) / chi2_(f0 + S - 1). Failed trainings make ratios that do not belong there:
a share of outliers with a much larger common ratio stands for them, and an outlier is drawn towards that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

FREEDOMS = np.array([0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32])
"""Degrees of freedom f0 that the other cells can be worth. No table is believed to tell more than the last."""
SCALES = np.geomspace(1.0, 32.0, 31)
"""Common ratios that are tried. Seeds cannot vary less than the noise of their answers, so none is below 1."""
CAUTION = 0.3
"""How likely f0 is at most the one chosen: with few cells it is known badly, and too large a one is the worse error."""
OUTLIERS = 0.05
"""Share of outliers that is expected."""
OUTLIER_SCALE, OUTLIER_FREEDOM = 20.0, 1.0
"""Distribution that outliers are found with: their scale as a multiple of the others', and its degrees of freedom."""
OUTLIER_WEIGHT = 4.0
"""Degrees of freedom that the scale of outliers counts for in an outlier."""
LEAST = 1e-6
"""Ratios below it count as it, because the density of two seeds has no end at 0."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SeedPrior:
    """What the other cells of a table tell of one cell's ratio."""

    scale: float = 1.0
    """Common ratio."""
    freedom: float = 0.0
    """Degrees of freedom that it counts for; with 0 each cell stands alone."""

    def shrink(self, ratio: float, freedom: float) -> tuple[float, float]:
        """Return a cell's ratio, drawn towards that of the others or of outliers, and its degrees of freedom.

        It is at least 1, the ratio of seeds that differ by the noise of their answers only.
        """
        if not self.freedom:
            return max(1.0, ratio), freedom
        scale, known = self.scale, self.freedom
        if self.is_outlier(ratio, freedom):
            scale, known = OUTLIER_SCALE * self.scale, OUTLIER_WEIGHT
        return max(1.0, (known * scale + freedom * ratio) / (known + freedom)), known + freedom

    def is_outlier(self, ratio: float, freedom: float) -> bool:
        """Return whether a ratio is above the common one and more likely from an outlier than from the other cells."""
        usual, unusual = _compute_densities(*map(np.asarray, (ratio, freedom, self.scale, self.freedom)))
        return ratio > self.scale and bool(unusual > usual)


ALONE = SeedPrior()
"""Nothing is known of other cells."""


def fit_prior(ratios: Sequence[float], freedoms: Sequence[float]) -> SeedPrior:
    """Return what cells with these ratios and degrees of freedom have in common.

    All values of f0 and scale are equally likely before. f0 is a cautious quantile of what is likely afterwards, and
    the scale is the likeliest with it.
    """
    likelihoods = compute_log_likelihoods(ratios, freedoms)
    likely = np.exp(likelihoods - likelihoods.max())
    shares = np.cumsum(likely.sum(0)) / likely.sum()
    place = min(int(np.searchsorted(shares, CAUTION)), len(FREEDOMS) - 1)
    return SeedPrior(float(SCALES[np.argmax(likely[:, place])]), float(FREEDOMS[place]))


def compute_log_likelihoods(ratios: Sequence[float], freedoms: Sequence[float]) -> Floats:
    """Return the log-likelihood of each of the scales (rows) with each of the f0 (columns)."""
    cells = np.asarray(ratios, dtype=np.float64), np.asarray(freedoms, dtype=np.float64)
    usual, unusual = _compute_densities(*cells, SCALES[:, None, None], FREEDOMS[:, None])
    return np.asarray(np.logaddexp(usual, unusual).sum(-1))


def _compute_densities(ratios: Floats, freedoms: Floats, scale: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Return the log density of each ratio, and no outlier; and as that of an outlier."""
    usual = np.log1p(-OUTLIERS) + _compute_log_density(ratios, freedoms, scale, freedom)
    wide = _compute_log_density(ratios, freedoms, OUTLIER_SCALE * scale, np.asarray(OUTLIER_FREEDOM))
    return usual, np.log(OUTLIERS) + wide


def _compute_log_density(ratios: Floats, first: Floats, scale: Floats, second: Floats) -> Floats:
    """Return the log density of scale * F(first, second)."""
    ratios, odds = np.maximum(ratios, LEAST), first / (second * scale)
    power = first / 2 * np.log(odds) + (first / 2 - 1) * np.log(ratios)
    return np.asarray(power - (first + second) / 2 * np.log1p(odds * ratios) - special.betaln(first / 2, second / 2))
