"""A model's answers, the parts of their variance, and what is drawn by chance.

Draws depend on a stream only, so that the same records always give the same report, and are made once for all models
of a column. Shapes: S seeds, n sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from probing.statistics.shrinkage import SeedPrior, fit_prior

RESAMPLES = 10_000
"""Number of draws of approximate randomisation."""
VARIANCES = 2_048
"""Number of draws of a variance that is not known exactly."""
SEED = 20_190_602
"""Seed of all draws; it is fixed, so that the same records always give the same report."""

Right = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Part:
    """One independent part of a mean's variance, and from how many free values it was estimated."""

    variance: float
    freedom: float


@dataclass(frozen=True, eq=False)
class Sample:
    """One model's answers on one task, with the figures that intervals and comparisons need."""

    right: Right
    """(S seeds, n sentences)"""

    @cached_property
    def totals(self) -> npt.NDArray[np.int64]:
        """Number of seeds that have each sentence right."""
        return np.asarray(self.right.sum(axis=0))

    @cached_property
    def accuracies(self) -> Floats:
        """Accuracy of each seed."""
        return np.asarray(np.count_nonzero(self.right, axis=1) / self.right.shape[1])

    @cached_property
    def mean(self) -> float:
        return float(np.count_nonzero(self.right) / self.right.size)

    @cached_property
    def residual(self) -> float:
        """The variance of a sentence's mean over seeds that neither the sentence nor the seeds explain."""
        seeds, sentences = self.right.shape
        if seeds == 1 or sentences == 1:
            return 0.0
        # The sums of squares of a two-way table without its making: x^2 = x for zeros and ones.
        whole = self.right.size * self.mean * (1 - self.mean)
        between_seeds = sentences * float(np.square(self.accuracies - self.mean).sum())
        between_sentences = seeds * float(np.square(self.totals / seeds - self.mean).sum())
        left = max(0.0, whole - between_seeds - between_sentences)
        return float(left / ((seeds - 1) * (sentences - 1) * seeds))

    @cached_property
    def seed_part(self) -> Part:
        """Variance of the mean that comes from the draw of S seeds, with the noise of each answer.

        Few seeds can agree by luck: the noise of the answers, which is known much better, is a lower bound.
        """
        seeds, sentences = self.right.shape
        between = float(self.accuracies.var(ddof=1)) / seeds
        noise = self.residual / sentences
        return Part(between, seeds - 1) if between >= noise else Part(noise, (seeds - 1) * (sentences - 1))

    @property
    def seed_ratio(self) -> float | None:
        """MSR/MSE: the variance of the seeds' accuracies relative to what the noise of n answers makes of it.

        None if it is not defined, as for one seed, or for seeds that give the same answers.
        """
        seeds, sentences = self.right.shape
        if not self.residual:
            return None
        return float(sentences * self.accuracies.var(ddof=1) / (seeds * self.residual))

    def shrink_seed_part(self, prior: SeedPrior) -> Part | None:
        """Return the variance of the mean that comes from the draw of seeds, with what other cells tell of it.

        None for seeds that give the same answers.
        """
        seeds, sentences = self.right.shape
        if self.seed_ratio is None:
            return None
        ratio, freedom = prior.shrink(self.seed_ratio, seeds - 1)
        return Part(ratio * self.residual / sentences, freedom)

    @property
    def sentence_part(self) -> Part:
        """Variance of the mean from the draw of n sentences, without the noise of each answer, which the seeds have."""
        seeds, sentences = self.right.shape
        if sentences == 1:
            return Part(0.0, math.inf)
        spread = float((self.totals / seeds).var(ddof=1)) - self.residual
        return Part(max(0.0, spread) / sentences, sentences - 1)


def count_differences(first: Sample, second: Sample) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the differences that a sentence's means over seeds can have, from -1 to 1, and how many sentences do."""
    of_first, of_second = len(first.right), len(second.right)
    common = math.lcm(of_first, of_second)
    scaled = first.totals * (common // of_first) - second.totals * (common // of_second) + common
    counts = np.bincount(scaled, minlength=2 * common + 1)
    return np.arange(len(counts)) / common - 1, counts


def measure_sentences(values: Floats, counts: npt.NDArray[np.int64], residual: float) -> Part:
    """Return the variance of a mean difference that comes from the draw of sentences, without the noise of answers.

    Half a sentence is added for each of the four outcomes of a pair (Agresti & Min 2005), so that two models that never
    differ in n sentences are not said to be equal.
    """
    sentences = int(counts.sum())
    shares = counts / (sentences + 2)
    shares[[0, -1, len(shares) // 2]] += np.array([0.5, 0.5, 1.0]) / (sentences + 2)
    spread = float(np.square(values - float(values @ shares)) @ shares)
    return Part(max(0.0, spread - residual) / (sentences + 2), max(1, sentences - 1))


def learn_seeds(samples: Iterable[Sample]) -> SeedPrior:
    """Return what the cells of a table tell together of how much seeds vary."""
    found = [(sample.seed_ratio, len(sample.right) - 1.0) for sample in samples]
    measured = [(ratio, freedom) for ratio, freedom in found if ratio is not None]
    return fit_prior([ratio for ratio, _ in measured], [freedom for _, freedom in measured])


@lru_cache(maxsize=512)
def draw_variances(freedom: float, stream: tuple[int, ...]) -> Floats:
    """Return draws of a variance of which 1 was estimated with these degrees of freedom: freedom / chi2_freedom.

    There is one draw in each of equally likely ranges.
    """
    places = (np.random.default_rng((SEED, *stream)).permutation(VARIANCES) + 0.5) / VARIANCES
    return np.asarray(freedom / special.chdtri(freedom, places))


def swap_answers(values: Floats, counts: npt.NDArray[np.int64], stream: tuple[int, ...]) -> Floats:
    """Return mean differences after the signs of all sentences' differences were drawn anew."""
    rng = np.random.default_rng((SEED, *stream))
    positive = len(values) // 2 + 1
    sizes = counts[positive:] + counts[positive - 2 :: -1]
    kept = rng.binomial(sizes[sizes > 0], 0.5, size=(RESAMPLES, np.count_nonzero(sizes)))
    signed = 2 * kept - sizes[sizes > 0]
    return np.asarray(signed @ values[positive:][sizes > 0] / counts.sum(), dtype=np.float64)
