"""A model's answers, and how they are resampled: the hierarchical bootstrap over seeds and sentences.

Draws depend on a stream only, so that the same records always give the same report, and are made once for all models
of a column. Shapes: S seeds, n sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

RESAMPLES = 10_000
SEED = 20_190_602
"""Seed of the resampling; it is fixed, so that the same records always give the same report."""

NORMAL = 0.1
"""Up to this ratio E|x|³ / (σ³ √n), which a hundred sentences that differ have, a mean over n sentences is drawn from
the normal distribution: it is as good as normal (Berry & Esseen)."""
ROWS = 500
"""Number of resamples of seeds that are drawn at once, so that they stay in the processor's cache."""
MANY = 32
"""Number of different differences above which only the extreme ones are drawn one by one."""
NODES = 257
"""Number of points between which the chi-squared distribution is a cubic: exact to 1e-8, several times as fast."""

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


class Sentences:
    """The mean over resampled sentences: its deviations, and their variance.

    Half a sentence is added for each of the four outcomes of a pair (Agresti & Min 2005), so that two models that never
    differ in n sentences are not said to be equal. Drawing n sentences is drawing how often each difference occurs.
    """

    def __init__(self, values: Floats, counts: npt.NDArray[np.int64], residual: float) -> None:
        sentences = int(counts.sum())
        shares = counts / (sentences + 2)
        shares[[0, -1, len(shares) // 2]] += np.array([0.5, 0.5, 1.0]) / (sentences + 2)
        self.size, self.shares = sentences + 2, shares[shares > 0]
        self.deviations = values[shares > 0] - float(values @ shares)
        self.spread = float(np.square(self.deviations) @ self.shares)
        self.kept = max(0.0, 1 - residual / self.spread)
        self.part = Part(self.spread * self.kept / self.size, max(1, sentences - 1))

    def draw(self, stream: tuple[int, ...]) -> Floats:
        """Return the deviations of resampled means."""
        if _is_normal(self.size, self.spread, np.abs(self.deviations) ** 3 @ self.shares):
            return math.sqrt(self.part.variance) * _draw_normal(RESAMPLES, stream)
        rng = np.random.default_rng((SEED, *stream))
        if len(self.shares) > MANY:
            sums = self._draw_extremes(rng)
        else:
            sums = rng.multinomial(self.size, self.shares, size=RESAMPLES) @ self.deviations
        return np.asarray(sums / self.size * math.sqrt(self.kept), dtype=np.float64)

    def _draw_extremes(self, rng: np.random.Generator) -> Floats:
        """Return sums of n differences: of the extreme ones by how often each occurs, of the others at once."""
        order = np.argsort(np.abs(self.deviations), kind="stable")
        values, shares = self.deviations[order], self.shares[order]
        share, total, square, cube = (np.cumsum(shares * one) for one in (1, values, values**2, np.abs(values) ** 3))
        mean = total / share
        variance = np.maximum(0, square / share - mean**2)
        normal = np.flatnonzero(_is_normal(self.size * share, variance, cube / share))
        if not len(normal):
            return rng.multinomial(self.size, shares, size=RESAMPLES) @ values
        inner = normal[-1] + 1
        counts = rng.multinomial(self.size, [share[inner - 1], *shares[inner:]], size=RESAMPLES)
        others = rng.normal(counts[:, 0] * mean[inner - 1], np.sqrt(counts[:, 0] * variance[inner - 1]))
        return np.asarray(counts[:, 1:] @ values[inner:] + others)


def _is_normal(size: Any, variance: Any, cube: Any) -> Any:
    """Return whether the mean of `size` values with this variance and E|x|³ is as good as normal."""
    return cube <= NORMAL * variance**1.5 * np.sqrt(size)


@lru_cache(maxsize=64)
def resample_seeds(sample: Sample, stream: tuple[int, ...]) -> npt.NDArray[np.floating[Any]]:
    """Return deviations of the mean over resampled seeds, widened as S of S seeds vary too little (Rao & Wu 1988)."""
    seeds = len(sample.accuracies)
    if sample.seed_part.freedom > seeds - 1:  # they do not differ beyond the noise of n answers, which is normal
        return math.sqrt(sample.seed_part.variance) * _draw_normal(RESAMPLES, stream)
    widened = (sample.accuracies - sample.accuracies.mean()) * math.sqrt(seeds / (seeds - 1))
    return np.asarray(_draw_seeds(seeds, RESAMPLES, stream) @ widened.astype(np.float32))


@lru_cache(maxsize=64)
def _draw_normal(resamples: int, stream: tuple[int, ...]) -> Floats:
    """Return draws from the standard normal distribution: the same ones serve for all models of a column."""
    return np.random.default_rng((SEED, *stream)).standard_normal(resamples)


@lru_cache(maxsize=32)
def _draw_seeds(seeds: int, resamples: int, stream: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return which share of a resample each seed is: the same draws serve for all models of a column."""
    rng = np.random.default_rng((SEED, *stream))
    shares = np.empty((resamples, seeds), dtype=np.float32)
    for some in np.array_split(shares, range(ROWS, resamples, ROWS)):
        drawn = rng.integers(seeds, size=some.shape)
        drawn += seeds * np.arange(len(some))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=some.size).reshape(some.shape)
        np.divide(counts, seeds, out=some, casting="same_kind")
    return shares


def swap_answers(values: Floats, counts: npt.NDArray[np.int64], stream: tuple[int, ...]) -> Floats:
    """Return mean differences after the signs of all sentences' differences were drawn anew."""
    rng = np.random.default_rng((SEED, *stream))
    positive = len(values) // 2 + 1
    sizes = counts[positive:] + counts[positive - 2 :: -1]
    kept = rng.binomial(sizes[sizes > 0], 0.5, size=(RESAMPLES, np.count_nonzero(sizes)))
    signed = 2 * kept - sizes[sizes > 0]
    return np.asarray(signed @ values[positive:][sizes > 0] / counts.sum(), dtype=np.float64)


def chi_squared_share(ratios: Floats, freedom: float) -> Floats:
    """Return for many x the share of chi-squared values below freedom * x^2."""
    if freedom < 3 or len(ratios) < 4 * NODES:  # near 0 it is no polynomial, or there is little to gain
        return np.asarray(special.chdtr(freedom, freedom * ratios**2))
    low, high = (math.sqrt(special.chdtri(freedom, share) / freedom) for share in (1 - 1e-13, 1e-13))
    nodes = np.linspace(low, high, NODES)
    width = nodes[1] - nodes[0]
    halves = freedom * nodes**2 / 2
    heights = special.chdtr(freedom, 2 * halves)
    slopes = 2 * width / nodes * np.exp(freedom / 2 * np.log(halves) - halves - special.gammaln(freedom / 2))
    steps, (left, right) = np.diff(heights), (slopes[:-1], slopes[1:])
    places = np.clip((ratios - low) / width, 0, NODES - 1)
    pieces = np.minimum(places.astype(np.intp), NODES - 2)
    places -= pieces
    result = (left + right - 2 * steps)[pieces]
    for factors in (3 * steps - 2 * left - right, left, heights):
        result *= places
        result += factors[pieces]
    return np.asarray(result)
