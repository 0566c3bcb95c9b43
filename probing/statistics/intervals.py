"""Confidence intervals: Wilson's for shares, with the effective sample size; of averages and of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from probing.statistics.resampling import Part, Sample

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval that contains a share, or a difference of two shares, with 95 % confidence."""

    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        return self.low <= other.high and other.low <= self.high


def add_parts(parts: Sequence[Part]) -> Part:
    """Return the whole variance with Satterthwaite's degrees of freedom."""
    total = sum(part.variance for part in parts)
    if total == 0:
        return Part(0.0, math.inf)
    return Part(total, 1 / sum((part.variance / total) ** 2 / part.freedom for part in parts if part.variance))


def wilson_interval(share: float, size: float, *, freedom: float = math.inf) -> Interval:
    """Return Wilson's score interval; with finite degrees of freedom, by Student's quantile instead of the normal."""
    quantile = student_quantile(freedom)
    weight = quantile**2 / size
    centre = (share + weight / 2) / (1 + weight)
    half = quantile / (1 + weight) * math.sqrt(share * (1 - share) / size + weight / (4 * size))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def accuracy_interval(sample: Sample) -> Interval:
    """Return the interval of a cell's mean accuracy over other seeds and other test sentences.

    Wilson's, with the effective sample size p (1 - p) / variance of the mean (Kish; Franco et al. 2019): for one seed
    this is n, and the interval is the plain one of Wilson, over other sentences only.
    """
    seeds, sentences = sample.right.shape
    share = sample.mean
    if seeds == 1 or share in (0.0, 1.0):
        return wilson_interval(share, sentences)
    whole = add_parts([sample.seed_part, sample.sentence_part])
    size = share * (1 - share) / whole.variance if whole.variance else sentences
    return wilson_interval(share, size, freedom=whole.freedom)


def compute_half(numbers: Sequence[float]) -> float:
    """Return half of Student's interval of the mean of several numbers, such as the scores of several seeds."""
    mean, size = math.fsum(numbers) / len(numbers), len(numbers)
    variance = math.fsum((number - mean) ** 2 for number in numbers) / (size - 1)
    return student_quantile(size - 1) * math.sqrt(variance / size)


def average_interval(shares: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the average of independent shares from theirs (MOVER; Zou & Donner 2008)."""
    average = math.fsum(shares) / len(shares)
    below = math.hypot(*(share - interval.low for share, interval in zip(shares, intervals, strict=True)))
    above = math.hypot(*(interval.high - share for share, interval in zip(shares, intervals, strict=True)))
    return Interval(average - below / len(shares), average + above / len(shares))


def difference_interval(shares: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the first of two independent shares - the second (Newcombe 1998, method 10; MOVER)."""
    (first, second), (ours, theirs) = shares, intervals
    below = math.hypot(first - ours.low, theirs.high - second)
    above = math.hypot(ours.high - first, second - theirs.low)
    return Interval(first - second - below, first - second + above)


def student_quantile(freedom: float) -> float:
    """Return the quantile of Student's distribution that ends a 95 % interval; of the normal one at infinity."""
    upper = (1 + CONFIDENCE) / 2
    return float(special.ndtri(upper) if math.isinf(freedom) else special.stdtrit(freedom, upper))
